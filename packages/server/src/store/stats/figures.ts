export type StoredStep = 'MINUTE' | 'HOUR' | 'DAY'

/** Whose figures a row has, and what they are. */
export interface StatsRow {
  tenant: string
  /** When the minute, hour or day begins. */
  at: number
  /** By its name. Empty: of all. */
  pool: string
  /** Empty: of all. */
  handler: string
  /** See stats/tally.ts. */
  figures: Buffer
}
