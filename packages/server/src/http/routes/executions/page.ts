/** Queries and pages of executions, as they are on the wire. */
import { CarillonError } from '@carillon/contract'
import type { ExecutionPage } from '../../../executions/executions.ts'
import type { ExecutionFilter } from '../../../executions/selection.ts'
import { jsonOf } from '../../../executions/view.ts'
import type { Reply } from '../../route.ts'

type Query = Omit<ExecutionFilter, 'labels'> & { label?: string[]; limit?: number; cursor?: string }

export function filterOf({ label, limit: _, cursor: __, ...filter }: Query): ExecutionFilter {
  return label ? { ...filter, labels: labelsOf(label) } : filter
}

export function pageOf({ limit = 100, cursor }: Query): { limit: number; cursor?: string } {
  return { limit, cursor }
}

export function pageReply({ records, nextCursor }: ExecutionPage): Reply {
  return {
    status: 200,
    text: `{"items":[${records.map(jsonOf).join(',')}],"nextCursor":${JSON.stringify(nextCursor)}}`,
  }
}

function labelsOf(labels: string[]): Record<string, string> {
  const pairs = labels.map((label) => label.split(/:(.*)/s, 2) as [string, string])
  const texts = new Map(pairs)
  const twice = pairs.findIndex(([name, text]) => texts.get(name) !== text)
  if (twice < 0) return Object.fromEntries(texts)
  throw new CarillonError('VALIDATION', {
    pointer: `/label/${twice}`,
    message: 'contradicts another value of the same label',
  })
}
