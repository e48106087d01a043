/** The same shape with its instants in another form: milliseconds inside the server, Dates in library mode. */
export type Timed<T, Field extends keyof T, Time> = {
  [F in keyof T]: F extends Field ? Time | Extract<T[F], null | undefined> : T[F]
}
