// SPDX-License-Identifier: Apache-2.0
// Stands in for rtl/lookup_engine/sram_1rw.sv where the engine runs in the model: same ports, same
// timing, but the words are in C++ (tb/plugin/sram_bank.h), which can take writes back.
module sram_1rw #(
  parameter int unsigned Depth = 16,
  parameter int unsigned Width = 144,
  parameter int unsigned Slots = 4,
  parameter int unsigned Latency = 1,
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   en_i,
  input  logic                   we_i,
  input  logic [Slots-1:0]       mask_i,
  input  logic [AddrW-1:0]       addr_i,
  input  logic [Width-1:0]       wdata_i,  // for every slot of the mask
  output logic [Slots*Width-1:0] rdata_o
);
  import "DPI-C" function longint unsigned kvplane_sram_open(input int depth, input int bits,
                                                             input int slots);
  import "DPI-C" function void kvplane_sram_read(input longint unsigned bank, input int row,
                                                 output bit [Slots*Width-1:0] data);
  import "DPI-C" function void kvplane_sram_write(input longint unsigned bank, input int row,
                                                  input int mask,
                                                  input bit [Width-1:0] data);

  longint unsigned bank;
  initial bank = kvplane_sram_open(int'(Depth), int'(Width), int'(Slots));

  logic [Slots*Width-1:0] rdata_q;
  bit [Slots*Width-1:0] line;
  /* verilator lint_off BLKSEQ */  // `line` takes what the function gives, and is read here only
  always_ff @(posedge clk_i) begin
    if (en_i && we_i) kvplane_sram_write(bank, int'(addr_i), int'(mask_i), wdata_i);
    if (en_i && !we_i) begin
      kvplane_sram_read(bank, int'(addr_i), line);
      rdata_q <= line;
    end
  end
  /* verilator lint_on BLKSEQ */
  assign rdata_o = rdata_q;

  if (Latency != 1) begin : gen_check
    $fatal(1, "sram_1rw: Latency of 1 here");
  end
endmodule
