/* SPDX-License-Identifier: Apache-2.0 */
/* Starts an NVTX range in each of the ways there are, with NVIDIA's own headers: what a program
 * that uses NVTX carries. Built as a library by tests/e2e/marks.sh, for tests/victims/steps.cu. */
#include <nvtx3/nvToolsExt.h>

#include <string.h>

void range_start(const char *how);

static nvtxEventAttributes_t attributes(void)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof(a));
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return a;
}

void range_start(const char *how)
{
    static nvtxDomainHandle_t domain;
    static nvtxStringHandle_t step, rest;
    nvtxEventAttributes_t a = attributes(), b = attributes();
    if (domain == NULL) {
        domain = nvtxDomainCreateA("training");
        step = nvtxDomainRegisterStringA(domain, "step");
        rest = nvtxDomainRegisterStringA(domain, "not a step");
    }
    nvtxRangePushA("not a step");
    nvtxRangePop();
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "step";
    b.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    b.message.registered = rest;
    nvtxDomainRangePushEx(domain, &b);
    nvtxDomainRangePop(domain);
    b.message.registered = step;
    if (strcmp(how, "push") == 0)
        nvtxRangePushA("step");
    else if (strcmp(how, "wide") == 0)
        nvtxRangePushW(L"step");
    else if (strcmp(how, "push_ex") == 0)
        nvtxRangePushEx(&a);
    else if (strcmp(how, "registered") == 0)
        nvtxDomainRangePushEx(domain, &b);
    else if (strcmp(how, "start") == 0)
        nvtxRangeEnd(nvtxRangeStartA("step"));
    else if (strcmp(how, "start_ex") == 0)
        nvtxRangeEnd(nvtxRangeStartEx(&a));
    else if (strcmp(how, "domain_start") == 0)
        nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &a));
    if (strncmp(how, "push", 4) == 0 || strcmp(how, "wide") == 0)
        nvtxRangePop();
}
