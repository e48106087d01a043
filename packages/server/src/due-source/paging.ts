/** Reads a range of due times in pages, in their order. */
const pageSize = 5_000

export interface Paging<Row extends { due: number }> {
  from: number
  until: number
  read(page: { from: number; until: number; limit: number }): Promise<Row[]>
  /** `until`: everything due before it, from the start of the page on, is in the page. `whole`: and what is due at it. False: read no more. */
  take(rows: Row[], page: { from: number; until: number; whole: boolean }): boolean | Promise<boolean>
}

/** Answers up to where it came. */
export async function readInPages<Row extends { due: number }>(paging: Paging<Row>): Promise<number> {
  const { until, read, take } = paging
  let from = paging.from
  let limit = pageSize
  for (;;) {
    const rows = await read({ from, until, limit })
    const whole = rows.length < limit
    const last = whole ? until : rows.at(-1)!.due
    const goOn = await take(rows, { from, until: last, whole })
    if (whole) return until
    if (!goOn) return last
    // More of one millisecond than a page holds are read with a larger one.
    limit = last > from ? pageSize : limit * 2
    from = last
  }
}
