/** A file of an environment. */
export interface SourceFile {
  /** Hexadecimal SHA-256 of its content. */
  digest: string;
  /** Bytes. */
  size: number;
  /** Whether the file is executable. */
  executable: boolean;
}

/**
 * The files of one environment: a directory on this host, or a snapshot published by a master. Paths are
 * relative, separated by `/`, without `.` and `..`.
 */
export interface FileSource {
  /** The environment's name: `base`. */
  readonly environment: string;
  /** `undefined` when the file does not exist. */
  stat(path: string): SourceFile | undefined;
  /** @throws SvcError `not_found`; `storage` when the content does not match its digest */
  read(path: string): Promise<Uint8Array>;
  /** Paths below a directory, sorted; `""` is the root. */
  list(directory: string): readonly string[];
}
