/** Events for a program that has the node inside, in the form the client gives them. */
import type { Event, EventReset } from '@carillon/contract'
import type { EventsOptions } from '@carillon/sdk'
import { eventView } from '../events/view.ts'
import { wanted } from '../events/wanted.ts'
import { filteredJobId } from '../jobs/reference.ts'
import type { Engine } from '../main.ts'
import { checkEvents } from './checks.ts'

/** No job has it. */
const nobodys = '00000000-0000-0000-0000-000000000000'

export async function* listen(
  { events, database, clock }: Engine,
  tenant: string,
  options: EventsOptions,
): AsyncGenerator<Event | EventReset, void> {
  checkEvents(options)
  const { types, jobId: job, lastEventId } = options
  const jobId = job === undefined ? undefined : ((await filteredJobId(database, { tenant, job })) ?? nobodys)
  // A consumer that ends its iteration has gone.
  const gone = new AbortController()
  const signal = options.signal === undefined ? gone.signal : AbortSignal.any([gone.signal, options.signal])
  try {
    const told = await events.listen({
      ...{ tenant, signal, wants: wanted(types, jobId) },
      after: lastEventId ?? null,
      waitMs: null,
    })
    for await (const said of told) {
      if (said.kind === 'RESET')
        yield { eventId: said.at, type: 'reset', at: new Date(clock.now()).toISOString(), tenant }
      else if (said.kind === 'EVENTS') yield* said.events.map(eventView)
    }
  } finally {
    gone.abort()
  }
}
