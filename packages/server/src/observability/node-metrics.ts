/** Figures of the node itself: requests, database connections, its clock, duties, what it has quarantined. */
import { Counter, type Distribution, Gauge, Histogram } from './families.ts'

const secondsBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Read when someone asks for the figures. */
export interface NodeReadings {
  clockOffsetMs: number
  connections: { used: number; idle: number; waiting: number }
  workers: number
}

export class NodeMetrics {
  readonly #requests = new Histogram({
    name: 'carillon_http_request_seconds',
    help: 'Time to answer a request, long polls included',
    labels: ['operation', 'status'],
    bounds: secondsBounds,
  })
  readonly #duties = new Histogram({
    name: 'carillon_duty_seconds',
    help: 'Time that one run of a duty took, at the node that does them',
    labels: ['duty'],
    bounds: secondsBounds,
  })
  readonly #dutyFailures = new Counter({
    name: 'carillon_duty_failures_total',
    help: 'Runs of a duty that failed; it is tried again',
    labels: ['duty'],
  })
  readonly #setAside = new Counter({
    name: 'carillon_set_aside_total',
    help: 'Rows that this node has quarantined, by the table they were in',
    labels: ['source'],
  })
  readonly #slotsLost = new Counter({
    name: 'carillon_limit_slots_lost_total',
    help: 'Slots of limits that nobody held and that were counted as taken, or the other way round; each is a defect, and mended',
  })
  readonly #quotas = new Counter({
    name: 'carillon_quota_refusals_total',
    help: 'Requests that were refused because a tenant would have exceeded a quota',
    labels: ['quota'],
  })
  readonly #clockOffset = new Gauge({
    name: 'carillon_clock_offset_seconds',
    help: 'How far PostgreSQL’s clock, which is the installation’s, is ahead of this machine’s',
  })
  readonly #connections = new Gauge({
    name: 'carillon_database_connections',
    help: 'Connections of this node to PostgreSQL, used and idle',
    labels: ['state'],
  })
  readonly #connectionsWaiting = new Gauge({
    name: 'carillon_database_waiting_statements',
    help: 'Statements that wait for a connection',
  })
  readonly #workers = new Gauge({
    name: 'carillon_worker_sessions',
    help: 'Workers that have called this node lately',
  })
  readonly families = [
    ...[this.#requests, this.#duties, this.#dutyFailures, this.#setAside, this.#slotsLost, this.#quotas],
    ...[this.#clockOffset, this.#connections, this.#connectionsWaiting, this.#workers],
  ]
  readonly #byRequest = new Map<string, Distribution>()
  #read: (() => NodeReadings) | null = null

  requestAnswered(operation: string, status: number, seconds: number): void {
    const key = `${operation} ${status}`
    let series = this.#byRequest.get(key)
    if (series === undefined) {
      series = this.#requests.of(operation, String(status))
      this.#byRequest.set(key, series)
    }
    this.#requests.observe(series, seconds)
  }

  dutyDone(duty: string, seconds: number): void {
    this.#duties.observe(this.#duties.of(duty), seconds)
  }

  dutyFailed(duty: string): void {
    this.#dutyFailures.of(duty).value++
  }

  setAside(source: string): void {
    this.#setAside.of(source).value++
  }

  slotsLost(count: number): void {
    this.#slotsLost.of().value += count
  }

  quotaExceeded(quota: string): void {
    this.#quotas.of(quota).value++
  }

  /** What to ask for figures that change by themselves. */
  readFrom(read: () => NodeReadings): void {
    this.#read = read
  }

  refresh(): void {
    if (this.#read === null) return
    const { clockOffsetMs, connections, workers } = this.#read()
    this.#clockOffset.of().value = clockOffsetMs / 1_000
    this.#connections.of('used').value = connections.used
    this.#connections.of('idle').value = connections.idle
    this.#connectionsWaiting.of().value = connections.waiting
    this.#workers.of().value = workers
  }
}
