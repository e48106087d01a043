/** Executions read by id, each with the token of its tenant. Every answer must be the execution that was asked for. */
import { readFile } from 'node:fs/promises'
import type { Load } from '../ground/ground.ts'
import { closedLoop, type LoopAnswer, type LoopOptions } from './closed-loop.ts'
import type { RawAnswer } from './raw-connection.ts'
import { anyOf, requestText } from './requests.ts'

export interface StatusOptions extends LoopOptions {
  tokens: string[]
  /** JSON: `StatusIds`. */
  idsFile: string
}

/** Lists that are read from equally often; each execution with the number of its tenant. */
export type StatusIds = [executionId: string, tenant: number][][]

const bodyBegin = '{"executionId":"'
const idLength = 36

const status: Load<StatusOptions, LoopAnswer> = async (options, control) => {
  const lists: StatusIds = JSON.parse(await readFile(options.idsFile, 'utf8'))
  const { host } = new URL(options.url)
  const path = '/v1/executions/'
  // The text after the id, by tenant.
  const ends = options.tokens.map((token) =>
    requestText({ method: 'GET', path, host, token }).slice(`GET ${path}`.length),
  )
  const requests = {
    next: () => {
      const [subject, tenant] = anyOf(anyOf(lists))
      return { request: `GET ${path}${subject}${ends[tenant]!}`, subject }
    },
    check: ({ status, bytes, bodyStart, bodyEnd }: RawAnswer, subject: string) => {
      const idStart = bodyStart + bodyBegin.length
      if (status === 200 && bytes.toString('latin1', idStart, idStart + idLength) === subject) return
      throw new Error(`asked for ${subject}, answered ${status}: ${bytes.toString('latin1', bodyStart, bodyEnd)}`)
    },
  }
  return closedLoop(options, requests, control)
}

export default status
