/** What producers and workers share: names and types, no code. */
import { defineHandler } from '@carillon/sdk'

export const resize = defineHandler<
  { image: string; widths: number[] },
  { image: string; widths: number[] },
  { made: string[] }
>({
  name: 'resize',
  pool: 'images',
})
