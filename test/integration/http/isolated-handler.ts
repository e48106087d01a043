import { isMainThread } from 'node:worker_threads'
import type { HandlerContext } from '@carillon/sdk'

export default function answer(ctx: HandlerContext<{ word: string }>): object {
  return { word: ctx.payload.word, attempt: ctx.attempt, isMain: isMainThread }
}
