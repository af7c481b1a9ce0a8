// Package pmcdtest runs a private pmcd for tests, demonstrations and measurements: the real
// collector, with stock agents and those of the caller. Other programs on the machine do not use it.
//
//	p := pmcdtest.Start(t, pmcdtest.Config{Agents: []pmcdtest.Agent{{
//		Name: "derived", Domain: 510, Command: []string{binary, "-d", "510"},
//	}}})
//	stdout, stderr, exit := p.Run(t, "pminfo", "-f", "derived")
//
// # What is private
//
// Socket, TCP port (on 127.0.0.1 only), name space, control file, logs and every folder that PCP's
// daemons and tools write to. Stock programs find all of it through their usual variables, see
// [PMCD.Env], so a plain `pminfo` uses this pmcd. Below [PMCD.Dir]:
//
//	pmcd.conf          control file
//	pcp.conf           PCP_CONF: the machine's, with PCP_TMP_DIR below
//	run/               PCP_RUN_DIR: pmcd.socket, pmcd.pid
//	log/pmcd/          PCP_LOG_DIR/pmcd: pmcd.log, the agents' logs; pmcd's working directory
//	tmp/               PCP_TMP_DIR: mmv/ and the tools' status files
//	var/               PCP_VAR_DIR: pmns/root is the name space in use, config/pmda/ and
//	                   config/pmdaderived/ start empty, the rest are links to the machine's own
//	etc/               PCP_SYSCONF_DIR: pmdaderived/ starts empty, labels/ is the caller's if there are any
//	                   ([Config].Labels), the rest are links
//
// Several can run at once; the machine's own pmcd is neither needed nor touched.
//
// # Users
//
// pmcd runs as a daemon, as it does in real life. Started by root it starts the agents as root and then
// becomes the user PCP_USER, so an agent that is started again later runs as that user: a
// caller's binary must lie where every user can reach it. Started by another user, pmcd and all
// agents stay that user. pmdaroot is not used (PMCD_ROOT_AGENT=0).
//
// # How it ends
//
// [PMCD.Stop] asks pmcd to end, waits until no process of its session is left, and calls it an
// error if one had to be killed. If the program that started pmcd dies first, without any
// clean-up, a watchdog process ends pmcd and removes the folder.
//
// Sources: pmcd(1), PCPIntro(1), pcp.conf(5); docs/protocol.md 4.8.
package pmcdtest
