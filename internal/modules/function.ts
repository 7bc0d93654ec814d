/** A function a peel can run. */
export interface ModuleFunction {
  /** `module.function`. */
  name: string;
  /** One line for people. */
  doc: string;
  /** Names of the arguments it takes. */
  args: readonly string[];
  run(args: Readonly<Record<string, unknown>>): Promise<unknown> | unknown;
}
