/** What goes wrong while a template is evaluated; the environment adds the place. */
export class Fault extends Error {
  /** The name that nothing defines, if that is what went wrong. */
  readonly undefinedName: string | undefined;
  /** Templates that were asked for and are not loaded. */
  readonly missing: readonly string[];

  constructor(message: string, more: { undefinedName?: string; missing?: readonly string[] } = {}) {
    super(message);

    this.undefinedName = more.undefinedName;
    this.missing = more.missing ?? [];
  }
}
