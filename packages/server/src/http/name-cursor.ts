/** Cursors of lists in the order of a name. */
import { CarillonError } from '@carillon/contract'

export function cursorOfName(name: string): string {
  return Buffer.from(name).toString('base64url')
}

export function nameOfCursor(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url').toString()
  if (cursorOfName(name) === cursor && !name.includes('\0')) return name
  throw new CarillonError('VALIDATION', {
    pointer: '/cursor',
    message: 'is not a cursor of this list',
    hint: 'Give `nextCursor` of the page before, as it is, or leave it out to start over',
  })
}
