/** What a relay counts, for the metrics of its node. */
export interface RelayFigures {
  /** So many were published for the first time, and so many again because they had not been leased. */
  published(first: number, again: number): void
  /** So many are published and not leased. */
  underWay(count: number): void
}
