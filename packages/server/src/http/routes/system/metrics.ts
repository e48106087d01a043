import { api } from '@carillon/contract/api'
import { shareInFlight } from '../../../lib/share-in-flight.ts'
import { countExecutions } from '../../../store/executions/count.ts'
import { countQuarantined } from '../../../store/quarantine/read.ts'
import { readProgress } from '../../../store/verification/progress.ts'
import { route } from '../../route.ts'
import type { Services } from '../../services.ts'

const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

const textOf = shareInFlight(async ({ metrics, database }: Services) =>
  // Without its database a node has fewer figures, not none.
  metrics.text(
    await countExecutions(database).catch(() => ({})),
    await readProgress(database).catch(() => null),
    await countQuarantined(database, 10_000).catch(() => ({})),
  ),
)

export const metrics = route(api.metrics, async (_, services) => ({
  status: 200,
  headers,
  text: await textOf(services),
}))
