import { describe, expect, test } from 'vitest'
import { makeBytePool } from './byte-pool.ts'

/** Subjects that each request one message of the maximum size, as often as they may. */
function makeSubjects(count: number, share: number, largest: number) {
  const pool = makeBytePool()
  const asked: number[] = []
  const seats = Array.from({ length: count }, () => pool.join(() => share))
  const ask = (index: number): void => {
    const seat = seats[index]
    if (seat?.take(largest, () => ask(index)) !== true) return
    asked.push(index)
    seat.note(largest)
  }
  return { seats, asked, ask }
}

describe('subjects with small shares', () => {
  test('[BU76] hold together what their shares are, and get their turns in order', () => {
    const { seats, asked, ask } = makeSubjects(6, 50, 100)
    for (let index = 0; index < 6; index += 1) ask(index)
    expect(asked).toEqual([0, 1, 2])
    expect(seats[0]?.isTight(100)).toBe(true)
    // One that wants more stands behind those that wait.
    seats[0]?.note(0)
    ask(0)
    expect(asked).toEqual([0, 1, 2, 3])
    seats[3]?.note(0)
    seats[1]?.note(0)
    seats[2]?.note(0)
    expect(asked).toEqual([0, 1, 2, 3, 4, 5, 0])
  })

  test('[BU76] hold one message if all shares together are smaller', () => {
    const { seats, asked, ask } = makeSubjects(3, 10, 100)
    for (let index = 0; index < 3; index += 1) ask(index)
    expect(asked).toEqual([0])
    seats[0]?.leave()
    expect(asked).toEqual([0, 1])
  })

  test('[BU76] take no turns while there is room for all', () => {
    const { seats, asked, ask } = makeSubjects(3, 150, 100)
    for (let index = 0; index < 3; index += 1) ask(index)
    expect(asked).toEqual([0, 1, 2])
    expect(seats[0]?.isTight(100)).toBe(false)
  })
})
