/** A part with a life of its own. `stop` waits until nothing of it runs any more, and may be called twice. */
export interface Service {
  start(): Promise<void>
  stop(): Promise<void>
}
