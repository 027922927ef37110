#include "targets.h"

#include "harness.h"

namespace lehi::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> table = {{"csv", fuzz_csv},
                                            {"idx", fuzz_idx},
                                            {"cifar", fuzz_cifar},
                                            {"gzip", fuzz_gzip},
                                            {"gpt2-files", fuzz_gpt2_files},
                                            {"llama3-file", fuzz_llama3_file},
                                            {"text", fuzz_text},
                                            {"documents", fuzz_documents},
                                            {"token-shard", fuzz_token_shard},
                                            {"safetensors", fuzz_safetensors},
                                            {"shard-index", fuzz_shard_index},
                                            {"llmc", fuzz_llmc},
                                            {"model-config", fuzz_model_config},
                                            {"checkpoint", fuzz_checkpoint},
                                            {"run-record", fuzz_run_record},
                                            {"study", fuzz_study},
                                            {"metrics", fuzz_metrics},
                                            {"events", fuzz_events},
                                            {"config", fuzz_config},
                                            {"run-config", fuzz_run_config},
                                            {"study-file", fuzz_study_file},
                                            {"routes", fuzz_routes},
                                            {"http", fuzz_http}};
  return table;
}

}  // namespace lehi::fuzz
