/** Jobs as people name them: by id or by key. */
import { CarillonError, type Job } from '@carillon/contract'
import type { NodeClient } from './node-client.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export async function jobIdOf(node: NodeClient, reference: string): Promise<string> {
  if (uuid.test(reference)) return reference
  return (await jobByKey(node, reference)).jobId
}

async function jobByKey(node: NodeClient, key: string): Promise<Job> {
  const { items } = await node.call('listJobs', { query: { key, limit: 1 } })
  if (items[0]) return items[0]
  throw new CarillonError('JOB_NOT_FOUND', {
    message: `no job has the id or the key ${key}`,
    hint: 'See carillon jobs list',
  })
}
