// SPDX-License-Identifier: Apache-2.0
/// Published time per output token of a 70B model, through the batching loop.
#include "small_run.h"

namespace kvplane::test {
namespace {

class StepTimeRowsTest : public RunTest {};

// Llama-3.3-70B in BF16 on 4 x H100, prompts of 1,024 and answers of 512 tokens, at 2 req/s:
// 19.7 ms. The rows at 8 req/s and more have no steady state on this node, so that they depend on
// how many requests were sent, which their source does not say.
TEST_F(StepTimeRowsTest, Llama70BOnFourH100At2PerSecond) {
    const Sets node{"host.node.compute=2.176 PFLOP/s",        // 4 x 989 x 0.55
                    "host.node.weight_bandwidth=11.66 TB/s",  // 0.87 of 4 x 3.35
                    "host.node.kv_bandwidth=12.06 TB/s",      // 0.90
                    "host.node.fixed=4.2 ms", "host.node.kv_budget=130 GiB"};
    const Sets load{"workload.generator=scan",          "workload.scan.requests=300",
                    "workload.scan.scan_permille=1000", "workload.scan.document_tokens=1024",
                    "workload.scan.output_tokens=512",  "workload.scan.requests_per_second=2"};
    const auto result = simulate(node + load);
    EXPECT_EQ(result["serving"]["requests"], 300);
    EXPECT_NEAR(result["serving"]["itl_ms"]["mean"].get<double>(), 19.7, 0.05 * 19.7);
}

}  // namespace
}  // namespace kvplane::test
