/** The types of calls, taken from the contract: no operation is described twice. */
import type { AnswerOf, ApiOperation, api, apiPaths, RequestOf } from '@carillon/contract'

type Api = typeof api
/** All but the stream of events, which has no one answer: see `Client.events`. */
export type OperationId = Exclude<keyof typeof apiPaths, 'streamEvents'>

type Part = 'params' | 'query' | 'headers' | 'body'
type Given<O extends ApiOperation> = {
  [P in Part as [RequestOf<O>[P]] extends [undefined] ? never : P]: RequestOf<O>[P]
}
/** Path parameters and bodies must be given; queries and headers may be. */
export type CallInput<Id extends OperationId> = Pick<Given<Api[Id]>, keyof Given<Api[Id]> & ('params' | 'body')> &
  Partial<Pick<Given<Api[Id]>, keyof Given<Api[Id]> & ('query' | 'headers')>>

export type CallAnswer<Id extends OperationId> = AnswerOf<Api[Id]>
