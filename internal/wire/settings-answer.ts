/** The answer of a master about the settings of a peel. */
export interface SettingsAnswer {
  /** Absent when the peel already has this version, or when there are no settings. */
  envelope?: Uint8Array;
  /** Why newer settings cannot be compiled. */
  error?: string;
}
