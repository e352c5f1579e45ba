// SPDX-License-Identifier: Apache-2.0
// The check bits of a sum are the sum of the check bits: what holds of wrong bits in the zero word
// holds in every word.
module secded_linear (
  input logic [63:0] first_i,
  input logic [63:0] second_i
);
  logic [7:0] first, second, sum;
  secded_enc u_first (
    .word_i(first_i),
    .check_o(first)
  );
  secded_enc u_second (
    .word_i(second_i),
    .check_o(second)
  );
  secded_enc u_sum (
    .word_i(first_i ^ second_i),
    .check_o(sum)
  );
  always_comb assert (sum == (first ^ second));
endmodule
