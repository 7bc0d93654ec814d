/** The flag of the daemon. @param address as it was written */
export const healthFlag = (address: string | undefined): string[] =>
  address === undefined ? [] : ["--health-addr", address];
