// SPDX-License-Identifier: Apache-2.0
// Corrects one wrong bit of a 64-bit word and its check bits, detects two; see secded_enc.
// Combinational; without en_i nothing is decoded, and the outputs mean nothing. Not handled:
// three wrong bits and more, some of which look like one.
module secded_dec (
  input  logic        en_i,
  input  logic [63:0] word_i,
  input  logic [7:0]  check_i,
  output logic [63:0] word_o,
  output logic        corrected_o,
  output logic        bad_o
);
  localparam logic [511:0] Columns = {
    256'h574f3e3d3b372f1fe0d0c8c4c2c1b0a8a4a2a1989492918c8a89868583706864,
    256'h6261585452514c4a49464543383432312c2a292625231c1a191615130e0d0b07
  };
  logic [7:0] syndrome;
  logic [63:0] flip;
  logic any_flip, check_bit;

  always_comb begin
    syndrome = '0;
    flip = '0;
    if (en_i) begin
      syndrome = check_i ^ {
        ^(word_i & 64'h00fffff800000000), ^(word_i & 64'hc0fc0007fff00000),
        ^(word_i & 64'h3e83e007c00ffc00), ^(word_i & 64'hbd421e043c0f03f0),
        ^(word_i & 64'h7b2111c22388e38e), ^(word_i & 64'hf710893112649a6d),
        ^(word_i & 64'hef0844a88952555b), ^(word_i & 64'hdf04225844b12cb7)};
      if (syndrome != '0) begin
        for (int unsigned i = 0; i < 64; i++) flip[i] = syndrome == Columns[8*i+:8];
      end
    end
  end
  assign any_flip = |flip;
  assign check_bit = $onehot(syndrome);
  assign word_o = word_i ^ flip;
  assign corrected_o = any_flip || check_bit;
  assign bad_o = syndrome != '0 && !any_flip && !check_bit;
endmodule
