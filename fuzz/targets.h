// One function for each target; targets.cpp has the table.
#pragma once

#include <string_view>

namespace lehi::fuzz {

// data_targets.cpp
void fuzz_csv(std::string_view input);
void fuzz_idx(std::string_view input);
void fuzz_cifar(std::string_view input);
void fuzz_gzip(std::string_view input);

// text_targets.cpp
void fuzz_gpt2_files(std::string_view input);   // encoder.json, a line "====", vocab.bpe
void fuzz_llama3_file(std::string_view input);  // tokenizer.json
void fuzz_text(std::string_view input);         // encoded by all tokenizers
void fuzz_documents(std::string_view input);    // JSON Lines: plain, gzip, zstd
void fuzz_token_shard(std::string_view input);

// weight_targets.cpp
void fuzz_safetensors(std::string_view input);
void fuzz_shard_index(std::string_view input);  // next to two files with known tensors
void fuzz_llmc(std::string_view input);
void fuzz_model_config(std::string_view input);  // config.json next to weights

// record_targets.cpp
void fuzz_checkpoint(
    std::string_view input);  // state.json next to valid files: as it is, and with its checksum corrected
void fuzz_run_record(std::string_view input);
void fuzz_study(std::string_view input);
void fuzz_metrics(std::string_view input);
void fuzz_events(std::string_view input);  // lines of metrics.jsonl, written as events and parsed again

// config_targets.cpp
void fuzz_config(std::string_view input);      // a user's --config file
void fuzz_run_config(std::string_view input);  // a run's config.toml
void fuzz_study_file(std::string_view input);

// serve_targets.cpp
void fuzz_routes(std::string_view input);  // lines: method, target, Host headers
void fuzz_http(std::string_view input);    // the bytes that a client sends

}  // namespace lehi::fuzz
