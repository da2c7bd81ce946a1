/* SPDX-License-Identifier: Apache-2.0 */
/* The report page's files (tools/page), each as text that ends in a zero byte. */
#ifndef SPILL_PAGE_ASSETS_H
#define SPILL_PAGE_ASSETS_H

extern const char spill_page_body[];
extern const char spill_page_style[];
extern const char spill_page_script_base[];
extern const char spill_page_script_tables[];
extern const char spill_page_script_charts[];
extern const char spill_page_script_main[];
extern const char spill_page_uplot_licence[];
extern const char spill_page_uplot_style[];
extern const char spill_page_uplot_script[];

#endif
