#include "report/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lehi::report {
namespace {

TEST(ReportDocument, MarkdownIsEscaped) {
  const Document document = {Heading{2, "a_b"}, Paragraph{"x < y & <script>"}, Commands{{"lehi a 'b c'"}},
                             List{{"one", "two"}}, Table{{{"name", "value"}, {"a|b", "1.50"}, {"c", "-0.5"}}}};
  EXPECT_EQ(to_markdown(document),
            "## a\\_b\n"
            "\n"
            "x &lt; y &amp; &lt;script&gt;\n"
            "\n"
            "```sh\nlehi a 'b c'\n```\n"
            "\n"
            "- one\n- two\n"
            "\n"
            "| name | value |\n"
            "|------|------:|\n"
            "| a\\|b |  1.50 |\n"
            "| c    |  -0.5 |\n");
}

TEST(ReportDocument, PlainTextAlignsColumnsByCharacters) {
  const Document document = {Table{{{"name", "value"}, {"a", "1 ± 2"}, {"bcd", "10 ± 20"}}}};
  EXPECT_EQ(to_text(document), "name    value\na       1 ± 2\nbcd   10 ± 20\n");
}

TEST(ReportDocument, LatexIsEscaped) {
  const Document document = {Heading{2, "a_b"}, Paragraph{"50 % of {x} & \\y ± 1 <z>"}, Commands{{"lehi #1"}},
                             List{{"~^"}}, Table{{{"name", "value"}, {"a", "-1.5"}, {"b$", "2 ± 1"}}}};
  EXPECT_EQ(to_latex(document),
            "% \\usepackage[utf8]{inputenc}, \\usepackage{booktabs}\n"
            "\n"
            "\\subsection*{a\\_b}\n"
            "\n"
            "50 \\% of \\{x\\} \\& \\textbackslash{}y $\\pm$ 1 $<$z$>$\n"
            "\n"
            "\\begin{quote}\\ttfamily\\small\\raggedright\n"
            "lehi \\#1\\par\n"
            "\\end{quote}\n"
            "\n"
            "\\begin{itemize}\n"
            "\\item \\~{}\\^{}\n"
            "\\end{itemize}\n"
            "\n"
            "\\begin{center}\\small\n"
            "\\begin{tabular}{lr}\n"
            "\\toprule\n"
            "name & value \\\\\n"
            "\\midrule\n"
            "a & $-$1.5 \\\\\n"
            "b\\$ & 2 $\\pm$ 1 \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n"
            "\\end{center}\n");
}

}  // namespace
}  // namespace lehi::report
