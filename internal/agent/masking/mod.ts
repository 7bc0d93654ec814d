export { type Mask, noMask } from "./mask.ts";
export { maskData, maskProgress, maskReturn, maskRun } from "./mask-run.ts";
export { maskedLog } from "./masked-log.ts";
export { createMasking, type Masking, maskOf } from "./masking.ts";
export { namesOfHost } from "./names-of-host.ts";
export { warnOfReadable } from "./readable-secrets.ts";
