/** A file of an environment. */
export interface SourceFile {
  /** Hexadecimal SHA-256 of its content. */
  digest: string;
  /** Bytes. */
  size: number;
  /** Whether it is to be executable. */
  executable: boolean;
}

/**
 * The files of one environment: a directory on this host, or a snapshot that a master published. Paths are
 * relative with `/`, without `.` and `..`.
 */
export interface FileSource {
  /** The environment's name: `base`. */
  readonly environment: string;
  /** `undefined` when there is no such file. */
  stat(path: string): SourceFile | undefined;
  /** @throws SvcError `not_found`; `storage` when its content is not what its digest says */
  read(path: string): Promise<Uint8Array>;
  /** Paths below a directory, sorted; `""` is the root. */
  list(directory: string): readonly string[];
}
