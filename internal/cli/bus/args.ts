export const credsArg = {
  type: "string",
  valueHint: "file",
  required: true,
  description: "Credentials of a master (master.creds); operator credentials cannot read everything",
} as const;
