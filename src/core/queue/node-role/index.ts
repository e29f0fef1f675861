// Names the roles of a node, and the role that claims the jobs of a consumer.

export { ALL_ROLES, parseRoles, ROLES, type Role, roleOfConsumer } from './node-role.ts'
