/* SPDX-License-Identifier: GPL-3.0-or-later */
/* xml.h - text in XML and HTML, between tags or in an attribute. */
#ifndef ORR_ANALYSIS_XML_H
#define ORR_ANALYSIS_XML_H

#include <stdio.h>

/* Control characters other than tabs and ends of lines, which XML forbids, become blanks. */
void orr_xml_text(FILE *out, const char *text);

#endif
