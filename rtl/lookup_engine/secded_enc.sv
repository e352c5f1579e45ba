// SPDX-License-Identifier: Apache-2.0
// Check bits of a 64-bit word: the Hsiao (72,64) code of model/index/secded.h. Column i of the code
// is bit i of the eight rows; columns are all bytes of weight three and then the first eight of
// weight five, in ascending order. Combinational.
module secded_enc (
  input  logic [63:0] word_i,
  output logic [7:0]  check_o
);
  assign check_o[0] = ^(word_i & 64'hdf04225844b12cb7);
  assign check_o[1] = ^(word_i & 64'hef0844a88952555b);
  assign check_o[2] = ^(word_i & 64'hf710893112649a6d);
  assign check_o[3] = ^(word_i & 64'h7b2111c22388e38e);
  assign check_o[4] = ^(word_i & 64'hbd421e043c0f03f0);
  assign check_o[5] = ^(word_i & 64'h3e83e007c00ffc00);
  assign check_o[6] = ^(word_i & 64'hc0fc0007fff00000);
  assign check_o[7] = ^(word_i & 64'h00fffff800000000);
endmodule
