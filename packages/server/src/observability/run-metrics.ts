/** Figures of runs of graphs and of their steps, told by what starts, advances and ends them, after the commit. */
import { BoundedNames, Counter, type Distribution, Histogram, type Value } from './families.ts'

const mostDags = 100

const latencyBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const durationBounds = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200, 21_600, 86_400]

/** REQUEST: by a request. EXECUTION: by one that stands for it. RETRY: it had ended and goes on. */
export type RunOrigin = 'REQUEST' | 'EXECUTION' | 'RETRY'
export type RunEnd = 'SUCCEEDED' | 'FAILED' | 'CANCELLED'

export interface EndedRunFigures {
  /** The name of its graph; null: it had steps of its own. */
  dag: string | null
  state: RunEnd
  durationMs: number
}

/** Of one graph. */
interface DagSeries {
  duration: Distribution
  ended: Record<RunEnd, Value>
}

export class RunMetrics {
  readonly #started = new Counter({
    name: 'carillon_dag_runs_started_total',
    help: 'Runs of graphs that began, by what started them',
    labels: ['origin'],
  })
  readonly #ended = new Counter({
    name: 'carillon_dag_runs_ended_total',
    help: 'Runs that ended, by graph and state: the first 100 graphs this node meets, the rest as other',
    labels: ['dag', 'state'],
  })
  readonly #duration = new Histogram({
    name: 'carillon_dag_run_seconds',
    help: 'From the start of a run to its end, by graph: the first 100 this node meets, the rest as other',
    labels: ['dag'],
    bounds: durationBounds,
  })
  readonly #released = new Counter({
    name: 'carillon_dag_steps_released_total',
    help: 'Steps that became ready, or began to wait for a signal',
  })
  readonly #skipped = new Counter({
    name: 'carillon_dag_steps_skipped_total',
    help: 'Steps that were skipped, by reason',
    labels: ['reason'],
  })
  readonly #advance = new Histogram({
    name: 'carillon_dag_advance_seconds',
    help: 'From the end of the last step that a step depends on to the commit that made it ready',
    bounds: latencyBounds,
  })
  readonly #items = new Counter({
    name: 'carillon_dag_items_total',
    help: 'Items of lists for which steps with forEach created executions',
  })
  readonly #followed = new Counter({
    name: 'carillon_after_executions_total',
    help: 'Executions of jobs of type AFTER, created because one of another job had ended',
  })
  readonly families = [
    ...[this.#started, this.#ended, this.#duration, this.#released, this.#skipped, this.#advance],
    ...[this.#items, this.#followed],
  ]
  readonly #names = new BoundedNames(mostDags)
  readonly #dags = new Map<string, DagSeries>()

  constructor() {
    // Counters that are there from the start: a rate over their first increase is not lost.
    for (const counter of [this.#released, this.#items, this.#followed]) counter.of()
    for (const origin of ['REQUEST', 'EXECUTION', 'RETRY']) this.#started.of(origin)
    this.#advance.of()
  }

  started(origin: RunOrigin): void {
    this.#started.of(origin).value++
  }

  ended(runs: readonly EndedRunFigures[]): void {
    for (const { dag, state, durationMs } of runs) {
      const series = this.#ofDag(dag)
      series.ended[state].value++
      this.#duration.observe(series.duration, durationMs / 1_000)
    }
  }

  released(count: number): void {
    this.#released.of().value += count
  }

  skipped(reason: string): void {
    this.#skipped.of(reason).value++
  }

  advanced(latencyMs: number): void {
    this.#advance.observe(this.#advance.of(), latencyMs / 1_000)
  }

  items(count: number): void {
    this.#items.of().value += count
  }

  followed(count: number): void {
    this.#followed.of().value += count
  }

  /** Runs with steps of their own have no name here: such names may be different every time. */
  #ofDag(dag: string | null): DagSeries {
    const name = dag === null ? '' : this.#names.of(dag)
    let series = this.#dags.get(name)
    if (series === undefined) {
      const ended = (state: RunEnd) => this.#ended.of(name, state)
      series = {
        duration: this.#duration.of(name),
        ended: { SUCCEEDED: ended('SUCCEEDED'), FAILED: ended('FAILED'), CANCELLED: ended('CANCELLED') },
      }
      this.#dags.set(name, series)
    }
    return series
  }
}
