// SPDX-License-Identifier: Apache-2.0
// Of any word: as it is it passes, with any wrong bit of its 72 it is corrected, with any two it is
// found bad.
module secded_check (
  input logic [63:0] word_i,
  input logic [6:0]  first_i,
  input logic [6:0]  second_i
);
  logic [7:0] check;
  logic [71:0] good, one, two;
  logic [63:0] good_word, one_word, two_word;
  logic good_corrected, good_bad, one_corrected, one_bad, two_corrected, two_bad;

  secded_enc u_enc (
    .word_i,
    .check_o(check)
  );
  assign good = {check, word_i};
  assign one = good ^ (72'd1 << first_i);
  assign two = one ^ (72'd1 << second_i);
  secded_dec u_good (.en_i(1'b1), .word_i(good[63:0]), .check_i(good[71:64]), .word_o(good_word),
                     .corrected_o(good_corrected), .bad_o(good_bad));
  secded_dec u_one (.en_i(1'b1), .word_i(one[63:0]), .check_i(one[71:64]), .word_o(one_word),
                    .corrected_o(one_corrected), .bad_o(one_bad));
  secded_dec u_two (.en_i(1'b1), .word_i(two[63:0]), .check_i(two[71:64]), .word_o(two_word),
                    .corrected_o(two_corrected), .bad_o(two_bad));

  always_comb begin
    assume (first_i < 7'd72 && second_i < 7'd72 && first_i != second_i);
    assert (good_word == word_i);
    assert (!good_corrected && !good_bad);
    assert (one_word == word_i);
    assert (one_corrected && !one_bad);
    assert (two_bad && !two_corrected);
  end
endmodule
