import { Type } from 'typebox'
import { QuarantinedRow } from '../schemas/quarantine.ts'
import { closed, Word } from '../schemas/scalars.ts'
import { quarantineSources } from '../words.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const tag = 'Installation'
const params = Type.Object(
  { quarantineId: Type.String({ pattern: '^[0-9]{1,15}$', description: 'Number of the row, from the list.' }) },
  closed,
)

export const quarantineOperations = {
  listQuarantined: operation({
    method: 'GET',
    path: '/v1/quarantine',
    tag,
    scope: 'admin',
    summary: 'Rows that cannot be processed, newest first',
    description:
      'A row whose own data makes a batch fail is quarantined, so that the rest goes on. A platform token sees all of them, a ' +
      'tenant’s token those of its tenant.',
    query: Type.Object(
      {
        ...pageFields,
        source: Type.Optional(Word(quarantineSources, { description: 'Only rows of this table.' })),
        about: Type.Optional(
          Type.String({ format: 'uuid', description: 'Only rows about this execution, job or operation.' }),
        ),
      },
      closed,
    ),
    answers: { 200: { description: 'A page', schema: Page(QuarantinedRow, 'QuarantinePage') } },
    errors: [],
  }),
  releaseQuarantined: operation({
    method: 'POST',
    path: '/v1/quarantine/:quarantineId/release',
    tag,
    scope: 'admin',
    summary: 'Put a row back into its table',
    description:
      'After its cause was fixed. A job whose schedule was quarantined is resumed. A row that still cannot be processed ' +
      'is quarantined again, under another number.',
    params,
    answers: { 200: { description: 'The row as it was in quarantine', schema: QuarantinedRow } },
    errors: ['QUARANTINED_NOT_FOUND', 'STATE_CONFLICT'],
  }),
  discardQuarantined: operation({
    method: 'POST',
    path: '/v1/quarantine/:quarantineId/discard',
    tag,
    scope: 'admin',
    summary: 'Discard a row',
    description:
      'Its execution ends as DEAD with the reason QUARANTINED, unless it is in a queue besides. A job whose schedule was ' +
      'quarantined stays PAUSED, an operation stays FAILED. The audit keeps what the row was.',
    params,
    answers: { 200: { description: 'The row as it was in quarantine', schema: QuarantinedRow } },
    errors: ['QUARANTINED_NOT_FOUND'],
  }),
}
