import type { Benchmark } from "./benchmark.js";

export const TPCDS: Benchmark = {
  extension: "tpcds",
  queries: "tpcds_queries",
  generator: "dsdgen",
  tables: [
    { name: "call_center", key: ["cc_call_center_sk"] },
    { name: "catalog_page", key: ["cp_catalog_page_sk"] },
    { name: "catalog_returns", key: ["cr_item_sk", "cr_order_number"] },
    { name: "catalog_sales", key: ["cs_item_sk", "cs_order_number"] },
    { name: "customer", key: ["c_customer_sk"] },
    { name: "customer_address", key: ["ca_address_sk"] },
    { name: "customer_demographics", key: ["cd_demo_sk"] },
    // The others decide which month or week a subquery of one row means: two answers would be an error of the query.
    { name: "date_dim", key: ["d_date_sk"], updatable: ["d_dow", "d_dom", "d_qoy", "d_quarter_name", "d_day_name"] },
    { name: "household_demographics", key: ["hd_demo_sk"] },
    { name: "income_band", key: ["ib_income_band_sk"] },
    { name: "inventory", key: ["inv_date_sk", "inv_item_sk", "inv_warehouse_sk"] },
    { name: "item", key: ["i_item_sk"] },
    { name: "promotion", key: ["p_promo_sk"] },
    { name: "reason", key: ["r_reason_sk"] },
    { name: "ship_mode", key: ["sm_ship_mode_sk"] },
    { name: "store", key: ["s_store_sk"] },
    { name: "store_returns", key: ["sr_item_sk", "sr_ticket_number"] },
    { name: "store_sales", key: ["ss_item_sk", "ss_ticket_number"] },
    { name: "time_dim", key: ["t_time_sk"] },
    { name: "warehouse", key: ["w_warehouse_sk"] },
    { name: "web_page", key: ["wp_web_page_sk"] },
    { name: "web_returns", key: ["wr_item_sk", "wr_order_number"] },
    { name: "web_sales", key: ["ws_item_sk", "ws_order_number"] },
    { name: "web_site", key: ["web_site_sk"] },
  ],
  // Two joins of eighteen inputs, grouped and joined with each other.
  dear: ["q64"],
  streams: [
    {
      tables: [
        { name: "store_sales", number: "ss_ticket_number" },
        { name: "store_returns", number: "sr_ticket_number" },
      ],
    },
    {
      tables: [
        { name: "catalog_sales", number: "cs_order_number" },
        { name: "catalog_returns", number: "cr_order_number" },
      ],
    },
    {
      tables: [
        { name: "web_sales", number: "ws_order_number" },
        { name: "web_returns", number: "wr_order_number" },
      ],
    },
  ],
};
