import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { readLimit, readUsage } from '../../../store/limits/declared.ts'
import { etagOf } from '../../if-match.ts'
import { ok, route } from '../../route.ts'
import { limitOwner } from './owner.ts'

export const getLimit = route(api.getLimit, async ({ params, caller }, { database }) => {
  const found = await readLimit(database, limitOwner(caller), params.limit)
  if (!found) throw limitNotFound(params.limit)
  return ok({ ...found.limit, usage: await readUsage(database, found) }, etagOf(found.limit.version))
})

export function limitNotFound(name: string): CarillonError {
  return new CarillonError('LIMIT_NOT_FOUND', {
    message: `there is no limit ${name}`,
    hint: 'GET /v1/limits lists those there are',
  })
}

export function limitMismatch(current: number | null, asked: number): CarillonError {
  const now = current === null ? 'is not declared' : `is at version ${current}`
  return new CarillonError('VERSION_MISMATCH', {
    message: `the limit ${now}, not at version ${asked}`,
    hint: 'Read it again and repeat the change on what it is now',
  })
}
