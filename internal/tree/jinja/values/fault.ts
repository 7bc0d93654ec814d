/** What goes wrong while a template is evaluated; the environment adds the place. */
export class Fault extends Error {
  /** The name that nothing defines, if that is what went wrong. */
  readonly undefinedName: string | undefined;
  /** Templates that are needed and not loaded. */
  readonly missing: readonly string[];
  /** Whether it is one whatever the values are. */
  readonly isFinal: boolean;
  /** Whether the template itself wants to end. */
  readonly isRaised: boolean;

  constructor(
    message: string,
    more: { undefinedName?: string; missing?: readonly string[]; isFinal?: boolean; isRaised?: boolean } = {},
  ) {
    super(message);
    this.undefinedName = more.undefinedName;
    this.missing = more.missing ?? [];
    this.isFinal = more.isFinal ?? false;
    this.isRaised = more.isRaised ?? false;
  }
}
