export { ALL_ROLES, parseRoles, ROLES, type Role, roleOfConsumer } from './node-role.ts'
