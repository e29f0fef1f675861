import { describe, expect, test } from 'vitest'
import { makeStuck } from './blocked-subjects.ts'

describe('subjects that the bus does not accept', () => {
  test('[BU33] it starts again only after the end was reached, and not sooner than the pass there took', () => {
    const stuck = makeStuck()
    stuck.restartAt(0)
    stuck.add('a', false)
    stuck.pass(500)
    stuck.restartAt(60_000)
    expect([stuck.has('a'), stuck.after()]).toEqual([true, 500])
    stuck.reachEnd(60_000, 200)
    expect([stuck.isOnItsWay(), stuck.waitMs(60_000)]).toEqual([false, 60_000])
    stuck.restartAt(119_999)
    expect(stuck.has('a')).toBe(true)
    stuck.restartAt(120_000)
    expect([stuck.has('a'), stuck.after(), stuck.isEmpty()]).toEqual([false, undefined, true])
    stuck.add('a', false)
    stuck.reachEnd(120_000, 200)
    expect(stuck.waitMs(120_000)).toBe(200)
  })

  test('[BU33] the pass starts with the first that is not accepted, however long all went well before', () => {
    const stuck = makeStuck()
    for (const now of [0, 1_000, 10_000_000]) stuck.restartAt(now)
    stuck.add('a', false)
    stuck.reachEnd(10_000_050, 200)
    expect(stuck.waitMs(10_000_050)).toBe(200)
    stuck.restartAt(10_000_250)
    expect(stuck.has('a')).toBe(false)
  })

  test('[BU33] none of very many is forgotten before its round is over, and few others are mistaken for one of them', () => {
    const stuck = makeStuck()
    stuck.restartAt(0)
    const subjects = Array.from(
      { length: 150_000 },
      (_, index) => `acme.workflows.w.places.p.tokens.ins_${index}-1`,
    )
    for (const subject of subjects) stuck.add(subject, false)
    stuck.restartAt(1_000_000)
    expect(subjects.filter((subject) => !stuck.has(subject))).toEqual([])
    const others = Array.from({ length: 20_000 }, (_, index) => `acme.events.shop.paid.${index}`)
    const wronged = others.filter((subject) => stuck.has(subject))
    expect(wronged.length).toBeLessThan(100)
    stuck.clear()
    expect(subjects.some((subject) => stuck.has(subject))).toBe(false)
    // A subject that was mistaken for one of them is not in the next round.
    for (const subject of subjects) stuck.add(subject, false)
    expect(wronged.filter((subject) => stuck.has(subject)).length).toBeLessThan(Math.max(1, wronged.length))
  })
})
