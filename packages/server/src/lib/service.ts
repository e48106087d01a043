/** A component with a lifecycle. `stop` waits until nothing of it runs any more, and may be called twice. */
export interface Service {
  start(): Promise<void>
  stop(): Promise<void>
}
