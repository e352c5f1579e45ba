// SPDX-License-Identifier: Apache-2.0
// Toeplitz H3 hash: bit j is the parity of the tag and the seed shifted right by j. Combinational.
module toeplitz #(
  parameter int unsigned TagUsed = 48,
  parameter int unsigned HashW = 16
) (
  input  logic [TagUsed-1:0]           tag_i,
  input  logic [TagUsed+HashW-2:0]     seed_i,
  output logic [HashW-1:0]             hash_o
);
  for (genvar j = 0; j < HashW; j++) begin : gen_bit
    assign hash_o[j] = ^(tag_i & seed_i[j+:TagUsed]);
  end
endmodule
