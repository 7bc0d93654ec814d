/**
 * Reads big-endian binary data from its start. Every read that would go beyond the end returns `undefined`, and so
 * do all reads after it: a caller may read a whole structure and check once, with `done`.
 */
export class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  #failed = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Whether all bytes were read, and no read failed. */
  get done(): boolean {
    return !this.#failed && this.#at === this.#bytes.length;
  }

  /** How many bytes were read. */
  get position(): number {
    return this.#at;
  }

  bytes(length: number): Buffer | undefined {
    if (this.#failed || length > this.#bytes.length - this.#at) {
      this.#failed = true;
      return undefined;
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  u8(): number | undefined {
    return this.bytes(1)?.readUInt8();
  }

  u16(): number | undefined {
    return this.bytes(2)?.readUInt16BE();
  }

  u32(): number | undefined {
    return this.bytes(4)?.readUInt32BE();
  }

  u64(): bigint | undefined {
    return this.bytes(8)?.readBigUInt64BE();
  }

  /** Bytes after their length in 16 bits, as TPM 2.0 writes them. */
  tpm2b(): Buffer | undefined {
    return this.bytes(this.u16() ?? Number.POSITIVE_INFINITY);
  }

  /** Bytes after their length in 32 bits, as SSH writes them. */
  sshString(): Buffer | undefined {
    return this.bytes(this.u32() ?? Number.POSITIVE_INFINITY);
  }

  /** The same, as text. */
  sshText(): string | undefined {
    return this.sshString()?.toString("latin1");
  }
}
