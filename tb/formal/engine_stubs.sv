// SPDX-License-Identifier: Apache-2.0
// Stand-ins for what engine_check takes as given: a hash is some function of the tag, of each half
// its own; words come back as they were written (secded is proved by itself); an SRAM of one cycle.
module toeplitz #(
  parameter int unsigned TagUsed = 62,
  parameter int unsigned HashW = 2
) (
  input  logic [TagUsed-1:0]       tag_i,
  input  logic [TagUsed+HashW-2:0] seed_i,
  output logic [HashW-1:0]         hash_o
);
  // The lowest bit of the seed tells the half.
  assign hash_o = seed_i[0] ? tag_i[HashW+:HashW] : tag_i[0+:HashW];
endmodule

module secded_enc (
  input  logic [63:0] word_i,
  output logic [7:0]  check_o
);
  assign check_o = '0;
endmodule

module secded_dec (
  input  logic        en_i,
  input  logic [63:0] word_i,
  input  logic [7:0]  check_i,
  output logic [63:0] word_o,
  output logic        corrected_o,
  output logic        bad_o
);
  assign word_o = word_i;
  assign corrected_o = 1'b0;
  assign bad_o = 1'b0;
endmodule

module sram_1rw #(
  parameter int unsigned Depth = 4,
  parameter int unsigned Width = 144,
  parameter int unsigned Slots = 2,
  parameter int unsigned Latency = 1,
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   en_i,
  input  logic                   we_i,
  input  logic [Slots-1:0]       mask_i,
  input  logic [AddrW-1:0]       addr_i,
  input  logic [Width-1:0]       wdata_i,
  output logic [Slots*Width-1:0] rdata_o
);
  // Slot s of row r at r * Slots + s; without check bits, which are all zero.
  logic [Depth*Slots*128-1:0] mem_q;
  logic [Slots*128-1:0] rdata_q;
  for (genvar s = 0; s < Slots; s++) begin : gen_slot
    assign rdata_o[s*Width+:Width] = Width'(rdata_q[s*128+:128]);
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < Depth; r++) begin
      if (en_i && !we_i && addr_i == AddrW'(r)) rdata_q <= mem_q[r*Slots*128+:Slots*128];
      for (int unsigned s = 0; s < Slots; s++) begin
        if (en_i && we_i && mask_i[s] && addr_i == AddrW'(r)) begin
          mem_q[(r*Slots+s)*128+:128] <= wdata_i[127:0];
        end
      end
    end
  end
endmodule
