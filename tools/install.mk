# SPDX-License-Identifier: Apache-2.0
# What leaves this tree: manual pages, installation, source archive, Debian package.
commands  := run profile report plan check dump diff env doctor
man_pages := $(O)/man/spillway.1 $(commands:%=$(O)/man/spillway-%.1)

# From the command's own --help, so that no page can differ from it.
$(O)/man/%.1: $(O)/spillway tools/man/page.awk
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)set -e; command='$(patsubst spillway%,%,$*)'; command=$${command#-}; \
	$(O)/spillway --help >$@.all; \
	if [ -n "$$command" ]; then summary=$$(sed -n "s/^  $$command  *//p" $@.all); \
	else summary=$$(sed -n '2{s/\.$$//;s/^R/r/;p}' $@.all); fi; \
	$(O)/spillway $$command --help | awk -v command="$$command" -v summary="$$summary" -v version='$(VERSION)' \
		-v commands='$(commands)' -f tools/man/page.awk >$@; rm -f $@.all

.PHONY: man package install uninstall dist distcheck deb
man: $(man_pages)

## package: all that is installed, and nothing else
package: $(O)/libspillway.so $(O)/spillway man

bindir = $(DESTDIR)$(PREFIX)/bin
libdir = $(DESTDIR)$(PREFIX)/lib/spillway
docdir = $(DESTDIR)$(PREFIX)/share/doc/spillway
mandir = $(DESTDIR)$(PREFIX)/share/man/man1
bash_completion_dir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zsh_completion_dir  = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
docs  := README.md CHANGELOG.md LICENSE profiler/FORMAT.md

## install: to DESTDIR/PREFIX (default /usr/local)
install: package
	install -d '$(bindir)' '$(libdir)' '$(docdir)' '$(mandir)' '$(bash_completion_dir)' '$(zsh_completion_dir)'
	install -m 755 $(O)/spillway '$(bindir)/spillway'
	install -m 644 $(O)/libspillway.so '$(libdir)/libspillway.so'
	install -m 644 $(docs) '$(docdir)'
	install -m 644 $(man_pages) '$(mandir)'
	install -m 644 tools/completion/spillway.bash '$(bash_completion_dir)/spillway'
	install -m 644 tools/completion/_spillway '$(zsh_completion_dir)'

## uninstall: what install put there
uninstall:
	rm -f '$(bindir)/spillway' '$(libdir)/libspillway.so' $(patsubst %,'$(docdir)/%',$(notdir $(docs))) \
		$(patsubst %,'$(mandir)/%',$(notdir $(man_pages))) '$(bash_completion_dir)/spillway' '$(zsh_completion_dir)/_spillway'
	-rmdir '$(libdir)' '$(docdir)' 2>/dev/null

archive := $(O)/spillway-$(VERSION).tar.gz

## dist: a source archive, the same from the same commit
dist:
	@tools/dist.sh '$(VERSION)' '$(archive)' '$(O)'

## distcheck: the archive is complete: built, tried, installed and removed from it
distcheck: dist
	@CC='$(CC)' CFLAGS='$(CFLAGS)' CUDA_INCLUDE='$(CUDA_INCLUDE)' MAKE='$(MAKE)' tools/distcheck.sh '$(VERSION)' '$(archive)' '$(O)'

## deb: a Debian package of this tree, in O
deb: dist
	@CUDA_INCLUDE='$(CUDA_INCLUDE)' tools/deb.sh '$(VERSION)' '$(archive)' '$(O)'
