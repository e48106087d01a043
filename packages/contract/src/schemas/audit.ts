/** The audit. */
import { type Static, Type } from 'typebox'
import { closed, Described, Instant, Json, Nullable, Text } from './scalars.ts'

export const AuditEntry = Type.Object(
  {
    auditId: Type.Integer({ description: 'Grows; the order of the record.' }),
    at: Described(Instant, 'When.'),
    tenant: Nullable(Text('The tenant it is about; null: the installation.')),
    actor: Text('The caller, node or worker that did it.'),
    action: Text('What was done, as a stable word.'),
    subject: Nullable(Text('The id or name of what it was done to.')),
    detail: Described(Json, 'More about it; which fields there are depends on the action.'),
  },
  { ...closed, title: 'AuditEntry', description: 'Something that was done, or refused.' },
)
export type AuditEntry = Static<typeof AuditEntry>
