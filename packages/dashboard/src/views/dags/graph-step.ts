/** What the drawing of a graph is given, of a run and of a definition alike. */
export interface GraphStep {
  name: string
  dependsOn: readonly string[]
  /** Left out: it is a definition, of which nothing runs. */
  state?: string
  /** Beside its state: how long it took, what it waits for, why it failed. */
  about?: string
  /** It runs since then. */
  runsSince?: string
}

export interface GraphProps {
  steps: readonly GraphStep[]
  /** Changes if steps or dependencies do. */
  shape: string
  /** Names, first to last. */
  critical: readonly string[]
  selected: string | undefined
  onSelect: (name: string) => void
}
