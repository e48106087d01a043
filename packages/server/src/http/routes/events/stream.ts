/** Events as they happen. */
import type { EventReset } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import type { StreamItem } from '../../../events/listener.ts'
import { eventView } from '../../../events/view.ts'
import { wanted } from '../../../events/wanted.ts'
import { filteredJobId } from '../../../jobs/reference.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { EventRow } from '../../../store/events/read.ts'
import { comeBackText, eventStreamHeaders } from '../../event-stream.ts'
import { route } from '../../route.ts'

/** No job has it. */
const nobodys = '00000000-0000-0000-0000-000000000000'

export const streamEvents = route(api.streamEvents, async ({ query, headers, caller, signal }, services) => {
  const { events, clock, database } = services
  const { tenant } = caller
  const { jobId: job } = query
  const jobId = job === undefined ? undefined : ((await filteredJobId(database, { tenant, job })) ?? nobodys)
  const after = headers['last-event-id']
  const told = await events.listen({
    ...{ tenant, signal, wants: wanted(query.type, jobId) },
    after: after === undefined ? null : Number(after),
    waitMs: query.waitSec === undefined ? null : query.waitSec * 1_000,
  })
  return { status: 200, headers: eventStreamHeaders, stream: written(told, { tenant, clock }) }
})

async function* written(told: AsyncIterable<StreamItem>, by: { tenant: string; clock: Clock }): AsyncGenerator<string> {
  yield comeBackText
  for await (const said of told) {
    // An id without data says how far it has come, and is no event.
    if (said.kind === 'PLACE') yield `: still here\nid: ${said.at}\n\n`
    else if (said.kind === 'RESET') yield resetText(said.at, by)
    else {
      const place = said.events.at(-1)!.eventId === said.at ? '' : `id: ${said.at}\n\n`
      yield said.events.map(textOf).join('') + place
    }
  }
}

/** Of an event that many listen to, made once. */
const texts = new WeakMap<EventRow, string>()

function textOf(row: EventRow): string {
  let text = texts.get(row)
  if (text === undefined) {
    text = `id: ${row.eventId}\nevent: ${row.type}\ndata: ${JSON.stringify(eventView(row))}\n\n`
    texts.set(row, text)
  }
  return text
}

function resetText(eventId: number, { tenant, clock }: { tenant: string; clock: Clock }): string {
  const reset: EventReset = { eventId, type: 'reset', at: new Date(clock.now()).toISOString(), tenant }
  return `id: ${eventId}\nevent: reset\ndata: ${JSON.stringify(reset)}\n\n`
}
